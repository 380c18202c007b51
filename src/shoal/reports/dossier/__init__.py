"""The dossier of a release: one data model, rendered for those who made it, who review it and who receive it."""
