"""The only writers: one file a verb."""
