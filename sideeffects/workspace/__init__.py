"""The sample local business objects; an adopter's own app joins through the same door."""
