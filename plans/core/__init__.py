"""May this plan run? Pure: bytes and a moment in, a verdict out; no Django, no clock, no I/O."""
