"""The pages of an admin."""
