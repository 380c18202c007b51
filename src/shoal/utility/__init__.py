"""What a release is still good for: measures, and analyses of release and original side by side."""
