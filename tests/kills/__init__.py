"""Processes that are killed or interrupted at named and at seeded moments, and what must hold afterwards."""
