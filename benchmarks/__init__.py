"""Measurements, never assertions: what the product costs on the machine it runs on."""
