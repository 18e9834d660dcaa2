"""Local differential privacy on location data: from trips to a published map.

The way through the package is one line: trips become one value per device, each
device randomises its own report, the server counts the reports, inverts the
randomisation and publishes estimates with error bars, or suppresses them.
"""

__version__ = "0.1.0"
