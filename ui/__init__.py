"""What the pages share: the scenario and its controls, cached runs, the map, legends, charts."""
