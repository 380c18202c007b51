"""Everything that touches disk or another library's frames: files, frames, recipes, releases, evidence."""
