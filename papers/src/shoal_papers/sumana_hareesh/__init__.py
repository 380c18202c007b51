"""Sumana & Hareesh: the models and their attacks."""
