"""Breaking links between cells: groups, draws and centres."""
