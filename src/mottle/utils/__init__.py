"""Helpers without knowledge of anonymization: Arrow, random numbers, threads."""
