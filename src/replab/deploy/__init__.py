"""A trained model leaves its run: as a file that other programs run, and as a card that says what it is."""
