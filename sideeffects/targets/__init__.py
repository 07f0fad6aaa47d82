"""The only code that touches what an effect points to."""
