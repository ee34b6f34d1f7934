"""Commands by which a trained model leaves its run."""
