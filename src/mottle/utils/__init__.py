"""Helpers that know nothing about anonymization: Arrow, random numbers, registries, threads."""
