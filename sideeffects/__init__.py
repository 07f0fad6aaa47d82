"""What was done in the world, and can it be taken back?"""
