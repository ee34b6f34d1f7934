"""For newcomers: a guided tour, and what this machine has."""
