"""What the pages of the workbench show: plain functions of a project's folder and its recipe, no web in them."""
