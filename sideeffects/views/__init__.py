"""The pages of an owner."""
