"""What the scripts of measurements/ share. Python's standard library only."""
