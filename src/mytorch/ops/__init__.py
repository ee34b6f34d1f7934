"""The operations, by topic; each is a function of the package and a method of Tensor under one definition."""
