"""The API of side effects."""
