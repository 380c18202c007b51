"""The five documents, reproduced: one package a paper, built on the public interface alone."""
