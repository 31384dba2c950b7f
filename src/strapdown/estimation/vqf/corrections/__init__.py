"""The corrections of VQF."""
