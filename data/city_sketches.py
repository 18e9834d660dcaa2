"""Sketches of the seven cities for build_addresses.py: named centres and quiet places.

Coordinates are public knowledge, rounded; weights, extents and the share of jobs are the author's.
"""

from __future__ import annotations

from typing import NamedTuple


class Centre(NamedTuple):
    """A named centre: its weight, how far its pull reaches, and its share of jobs against homes."""

    name: str
    lat: float
    lng: float
    weight: float
    scale_km: float
    jobs: float = 1.0


class Quiet(NamedTuple):
    """A place where few live or go: a park, a hill, a runway."""

    name: str
    lat: float
    lng: float
    radius_km: float


class Sketch(NamedTuple):
    """What makes one city differ from another.

    ``active_share``: share of resolution-8 cells with any address. ``log_sd``: spread of the busyness
    of those cells. ``length_mu``: mean logarithm of straight trip lengths in kilometres to aim at.
    ``reach``: first guess of distance scales, relative.
    """

    centres: tuple[Centre, ...]
    quiet: tuple[Quiet, ...]
    active_share: float = 0.53
    log_sd: float = 1.13
    length_mu: float = 1.01
    reach: float = 1.0


SKETCHES: dict[str, Sketch] = {
    "new_york": Sketch(
        (
            Centre("Midtown Manhattan", 40.7549, -73.9840, 10.0, 3.6, 1.8),
            Centre("Downtown Manhattan", 40.7090, -74.0110, 5.0, 2.4, 1.8),
            Centre("Union Square", 40.7359, -73.9911, 4.0, 2.2, 1.2),
            Centre("Upper East Side", 40.7736, -73.9566, 3.2, 2.2, 0.6),
            Centre("Harlem", 40.8090, -73.9480, 1.8, 2.6, 0.6),
            Centre("Washington Heights", 40.8417, -73.9394, 1.1, 2.0, 0.5),
            Centre("Downtown Brooklyn", 40.6925, -73.9870, 2.4, 3.2),
            Centre("Williamsburg", 40.7140, -73.9570, 1.6, 2.4, 0.7),
            Centre("Flatbush", 40.6500, -73.9590, 1.5, 3.6, 0.5),
            Centre("Bay Ridge", 40.6340, -74.0230, 0.8, 2.6, 0.6),
            Centre("Long Island City", 40.7470, -73.9440, 1.3, 2.2, 1.2),
            Centre("Jackson Heights", 40.7480, -73.8830, 1.0, 2.6, 0.5),
            Centre("Flushing", 40.7590, -73.8300, 1.4, 2.8),
            Centre("Jamaica", 40.7020, -73.8010, 1.3, 3.2),
            Centre("The Hub, Bronx", 40.8166, -73.9170, 1.3, 2.8, 0.7),
            Centre("Fordham", 40.8610, -73.8980, 1.2, 2.8, 0.6),
            Centre("St. George", 40.6430, -74.0760, 0.45, 2.6, 0.8),
            Centre("Jersey City", 40.7190, -74.0430, 1.4, 2.6, 1.2),
            Centre("Hoboken", 40.7440, -74.0320, 0.9, 1.8, 0.8),
            Centre("Newark", 40.7357, -74.1724, 1.2, 3.0, 1.2),
            Centre("Hackensack", 40.8859, -74.0435, 0.45, 3.0, 1.0),
        ),
        (
            Quiet("Central Park", 40.7812, -73.9665, 0.55),
            Quiet("Prospect Park", 40.6602, -73.9690, 0.55),
            Quiet("Kennedy airport", 40.6440, -73.7830, 1.9),
            Quiet("Jamaica Bay", 40.6150, -73.8300, 3.2),
            Quiet("La Guardia airport", 40.7772, -73.8726, 0.8),
            Quiet("Newark airport", 40.6910, -74.1700, 1.6),
            Quiet("Meadowlands", 40.7850, -74.0850, 2.6),
            Quiet("Staten Island Greenbelt", 40.5900, -74.1350, 2.2),
            Quiet("Fresh Kills", 40.5750, -74.1870, 2.2),
            Quiet("Van Cortlandt Park", 40.8970, -73.8860, 1.1),
            Quiet("Pelham Bay Park", 40.8650, -73.8080, 1.5),
        ),
    ),
    "san_francisco": Sketch(
        (
            Centre("Downtown San Francisco", 37.7900, -122.4000, 5.0, 3.0, 1.8),
            Centre("Mission", 37.7600, -122.4180, 2.2, 2.4, 0.8),
            Centre("Richmond District", 37.7800, -122.4750, 1.2, 2.6, 0.5),
            Centre("Sunset", 37.7560, -122.4850, 1.1, 2.6, 0.5),
            Centre("Daly City", 37.6870, -122.4700, 1.0, 2.6, 0.7),
            Centre("South San Francisco", 37.6560, -122.4080, 0.9, 2.6, 1.4),
            Centre("San Mateo", 37.5630, -122.3250, 1.1, 3.0, 1.1),
            Centre("Foster City", 37.5585, -122.2711, 0.6, 2.0, 1.2),
            Centre("Downtown Oakland", 37.8050, -122.2710, 2.4, 3.0, 1.3),
            Centre("Fruitvale", 37.7760, -122.2240, 1.2, 2.6, 0.6),
            Centre("Berkeley", 37.8700, -122.2680, 1.8, 2.6, 1.1),
            Centre("Emeryville", 37.8380, -122.2920, 0.8, 1.6, 1.4),
            Centre("Alameda", 37.7650, -122.2500, 0.6, 2.0, 0.7),
            Centre("San Leandro", 37.7250, -122.1560, 0.9, 2.8, 1.0),
            Centre("Hayward", 37.6690, -122.0810, 1.0, 3.2, 1.0),
            Centre("El Cerrito", 37.9100, -122.3050, 0.7, 2.6, 0.6),
            Centre("Walnut Creek", 37.9060, -122.0640, 0.7, 2.8, 1.1),
            Centre("Sausalito", 37.8590, -122.4850, 0.2, 1.4, 0.8),
        ),
        (
            Quiet("Golden Gate Park", 37.7690, -122.4870, 0.7),
            Quiet("San Bruno Mountain", 37.6930, -122.4300, 1.8),
            Quiet("Marin Headlands", 37.8400, -122.5100, 3.0),
            Quiet("Tilden and the Berkeley Hills", 37.8900, -122.2200, 3.2),
            Quiet("Redwood Park", 37.8050, -122.1450, 4.0),
            Quiet("San Francisco airport", 37.6190, -122.3750, 1.7),
            Quiet("Oakland airport", 37.7150, -122.2200, 1.6),
            Quiet("San Andreas Lake", 37.5800, -122.4200, 4.0),
        ),
    ),
    "london": Sketch(
        (
            Centre("City of London", 51.5135, -0.0890, 4.2, 3.0, 1.9),
            Centre("West End", 51.5135, -0.1400, 5.0, 3.4, 1.7),
            Centre("Canary Wharf", 51.5050, -0.0190, 2.0, 2.2, 1.8),
            Centre("Camden", 51.5390, -0.1426, 1.6, 2.6, 0.8),
            Centre("Stratford", 51.5420, -0.0030, 1.4, 2.8, 1.0),
            Centre("Brixton", 51.4627, -0.1145, 1.4, 2.8, 0.6),
            Centre("Clapham Junction", 51.4640, -0.1700, 1.2, 2.6, 0.7),
            Centre("Hammersmith", 51.4927, -0.2240, 1.3, 2.6, 1.1),
            Centre("Ealing", 51.5130, -0.3050, 1.0, 2.8, 0.8),
            Centre("Hounslow", 51.4700, -0.3620, 0.8, 2.8, 0.8),
            Centre("Heathrow", 51.4810, -0.4500, 0.5, 2.0, 2.0),
            Centre("Kingston", 51.4100, -0.3000, 0.9, 2.6),
            Centre("Croydon", 51.3760, -0.0980, 1.2, 3.0, 1.1),
            Centre("Sutton", 51.3610, -0.1930, 0.6, 2.6, 0.8),
            Centre("Bromley", 51.4050, 0.0150, 0.8, 2.8, 0.9),
            Centre("Woolwich", 51.4900, 0.0690, 0.9, 2.6, 0.7),
            Centre("Bexleyheath", 51.4560, 0.1410, 0.6, 2.8, 0.8),
            Centre("Ilford", 51.5590, 0.0740, 0.9, 2.8, 0.7),
            Centre("Romford", 51.5760, 0.1830, 0.7, 2.8, 0.9),
            Centre("Barking", 51.5390, 0.0810, 0.6, 2.4, 0.7),
            Centre("Wood Green", 51.5975, -0.1090, 1.1, 2.8, 0.7),
            Centre("Enfield", 51.6520, -0.0810, 0.6, 2.8, 0.8),
            Centre("Barnet", 51.6100, -0.1900, 0.8, 3.0, 0.7),
            Centre("Wembley", 51.5550, -0.2950, 0.9, 2.8, 0.8),
            Centre("Harrow", 51.5800, -0.3350, 0.8, 2.8, 0.8),
            Centre("Uxbridge", 51.5460, -0.4790, 0.5, 2.6, 1.2),
        ),
        (
            Quiet("Hyde Park", 51.5073, -0.1657, 0.7),
            Quiet("Richmond Park", 51.4420, -0.2750, 1.6),
            Quiet("Bushy Park", 51.4120, -0.3350, 1.1),
            Quiet("Hampstead Heath", 51.5610, -0.1630, 0.8),
            Quiet("Lee Valley", 51.6300, -0.0250, 1.4),
            Quiet("Heathrow runways", 51.4700, -0.4540, 1.3),
            Quiet("Downe and Biggin Hill", 51.3250, 0.0450, 4.0),
            Quiet("Rainham Marshes", 51.4950, 0.2200, 2.0),
            Quiet("Upminster fields", 51.5600, 0.2900, 3.2),
            Quiet("Harefield", 51.6050, -0.4750, 2.6),
            Quiet("Trent Park", 51.6650, -0.1400, 2.0),
        ),
    ),
    "singapore": Sketch(
        (
            Centre("Downtown", 1.2820, 103.8510, 4.0, 2.6, 1.9),
            Centre("Orchard", 1.3040, 103.8320, 2.4, 2.2, 1.4),
            Centre("Queenstown", 1.2940, 103.7860, 1.2, 2.4, 1.0),
            Centre("Toa Payoh", 1.3320, 103.8480, 1.5, 2.4, 0.7),
            Centre("Ang Mo Kio", 1.3690, 103.8480, 1.4, 2.2, 0.7),
            Centre("Geylang", 1.3180, 103.8880, 1.4, 2.4, 0.8),
            Centre("Bedok", 1.3240, 103.9300, 1.4, 2.4, 0.6),
            Centre("Tampines", 1.3530, 103.9450, 1.5, 2.4, 0.9),
            Centre("Sengkang", 1.3920, 103.8950, 1.5, 2.4, 0.5),
            Centre("Yishun", 1.4290, 103.8350, 1.1, 2.2, 0.6),
            Centre("Woodlands", 1.4370, 103.7860, 1.2, 2.4, 0.8),
            Centre("Jurong East", 1.3330, 103.7430, 1.4, 2.4, 1.2),
            Centre("Jurong West", 1.3410, 103.7050, 1.3, 2.4, 0.7),
            Centre("Choa Chu Kang", 1.3850, 103.7450, 1.1, 2.2, 0.5),
            Centre("Tuas", 1.3150, 103.6500, 0.3, 2.8, 2.5),
            Centre("Changi airport", 1.3570, 103.9880, 0.4, 1.4, 2.2),
            Centre("Johor Bahru", 1.4640, 103.7600, 1.6, 3.0, 1.1),
            Centre("Tebrau", 1.4900, 103.7850, 0.7, 2.6, 0.7),
            Centre("Skudai", 1.4950, 103.6600, 0.6, 3.0, 0.7),
            Centre("Pasir Gudang", 1.4720, 103.9050, 0.5, 2.6, 1.1),
        ),
        (
            Quiet("Central catchment", 1.3750, 103.8120, 3.0),
            Quiet("Western catchment", 1.3950, 103.6900, 3.6),
            Quiet("Changi runways", 1.3500, 104.0030, 1.4),
            Quiet("Lim Chu Kang", 1.4250, 103.7200, 2.6),
            Quiet("Pulau Ubin", 1.4130, 103.9600, 3.2),
            Quiet("Pulau Tekong", 1.4100, 104.0550, 3.4),
            Quiet("Southern islands", 1.2100, 103.8000, 3.6),
            Quiet("Batam", 1.1600, 104.0500, 4.0),
        ),
    ),
    "tokyo": Sketch(
        (
            Centre("Marunouchi", 35.6812, 139.7650, 4.2, 2.8, 1.9),
            Centre("Shinjuku", 35.6910, 139.7000, 3.8, 2.8, 1.5),
            Centre("Shibuya", 35.6590, 139.7010, 3.0, 2.6, 1.4),
            Centre("Ikebukuro", 35.7300, 139.7110, 2.2, 2.4, 1.1),
            Centre("Ueno", 35.7130, 139.7770, 1.8, 2.4, 1.0),
            Centre("Shinagawa", 35.6285, 139.7390, 1.8, 2.2, 1.6),
            Centre("Kinshicho", 35.6969, 139.8140, 1.2, 2.4, 0.8),
            Centre("Kita-Senju", 35.7490, 139.8050, 1.1, 2.6, 0.7),
            Centre("Kasai", 35.6640, 139.8720, 1.0, 2.4, 0.5),
            Centre("Kamata", 35.5625, 139.7160, 1.1, 2.4, 0.9),
            Centre("Kawasaki", 35.5310, 139.6970, 1.3, 2.6, 1.1),
            Centre("Musashi-Kosugi", 35.5760, 139.6590, 1.2, 2.4, 0.7),
            Centre("Futako-Tamagawa", 35.6116, 139.6268, 1.0, 2.4, 0.7),
            Centre("Sangenjaya", 35.6440, 139.6690, 1.2, 2.4, 0.5),
            Centre("Nakano", 35.7060, 139.6660, 1.3, 2.4, 0.6),
            Centre("Kichijoji", 35.7030, 139.5800, 1.2, 2.8, 0.8),
            Centre("Chofu", 35.6520, 139.5440, 0.7, 2.4, 0.8),
            Centre("Nerima", 35.7370, 139.6540, 1.0, 2.8, 0.5),
            Centre("Kawaguchi", 35.8020, 139.7200, 1.0, 3.0, 0.7),
            Centre("Matsudo", 35.7850, 139.9010, 0.8, 2.8, 0.8),
            Centre("Ichikawa", 35.7250, 139.9300, 0.8, 2.6, 0.6),
            Centre("Koiwa", 35.7330, 139.8820, 0.8, 2.2, 0.5),
        ),
        (
            Quiet("Imperial Palace", 35.6850, 139.7530, 0.7),
            Quiet("Yoyogi Park", 35.6740, 139.6960, 0.6),
            Quiet("Haneda airport", 35.5480, 139.7840, 2.2),
            Quiet("Tokyo Bay fill", 35.5950, 139.8000, 1.8),
            Quiet("Arakawa floodplain", 35.8000, 139.6500, 1.8),
            Quiet("Keihin works", 35.5100, 139.7500, 2.2),
        ),
        log_sd=1.09,
    ),
    "helsinki": Sketch(
        (
            Centre("Helsinki centre", 60.1710, 24.9410, 4.2, 2.6, 1.7),
            Centre("Kallio", 60.1850, 24.9520, 1.8, 1.8, 0.8),
            Centre("Pasila", 60.1990, 24.9330, 1.4, 1.8, 1.5),
            Centre("Lauttasaari", 60.1590, 24.8780, 0.7, 1.6, 0.6),
            Centre("Otaniemi", 60.1840, 24.8280, 1.0, 1.6, 1.5),
            Centre("Tapiola", 60.1755, 24.8050, 1.1, 2.0, 1.0),
            Centre("Matinkylä", 60.1600, 24.7380, 1.0, 2.2, 0.8),
            Centre("Espoonlahti", 60.1470, 24.6550, 0.6, 2.2, 0.6),
            Centre("Espoo centre", 60.2050, 24.6560, 0.6, 2.2, 0.9),
            Centre("Leppävaara", 60.2190, 24.8130, 1.2, 2.2, 1.0),
            Centre("Haaga", 60.2230, 24.8930, 0.9, 2.0, 0.7),
            Centre("Malmi", 60.2510, 25.0100, 0.9, 2.4, 0.7),
            Centre("Viikki", 60.2250, 25.0200, 0.8, 1.8, 0.9),
            Centre("Itäkeskus", 60.2100, 25.0820, 1.2, 2.4, 0.8),
            Centre("Vuosaari", 60.2090, 25.1450, 0.8, 2.0, 0.6),
            Centre("Herttoniemi", 60.1950, 25.0330, 0.8, 1.8, 0.8),
            Centre("Myyrmäki", 60.2610, 24.8540, 0.8, 2.2, 0.8),
            Centre("Tikkurila", 60.2920, 25.0440, 1.0, 2.4, 1.0),
            Centre("Aviapolis", 60.3000, 24.9630, 0.6, 1.8, 2.0),
            Centre("Korso", 60.3500, 25.0750, 0.5, 2.2, 0.5),
        ),
        (
            Quiet("Nuuksio", 60.3000, 24.5800, 6.0),
            Quiet("Keskuspuisto", 60.2300, 24.9200, 0.7),
            Quiet("Airport runways", 60.3200, 24.9600, 1.8),
            Quiet("Sipoo woods", 60.3100, 25.2000, 5.0),
            Quiet("Eastern islands", 60.1500, 25.1800, 4.0),
            Quiet("Western islands", 60.1000, 24.7500, 4.0),
            Quiet("Luukki", 60.3300, 24.7200, 3.6),
        ),
    ),
    "cape_town": Sketch(
        (
            Centre("City Bowl", -33.9230, 18.4220, 4.0, 2.6, 1.8),
            Centre("Sea Point", -33.9170, 18.3870, 1.0, 1.8, 0.6),
            Centre("Woodstock", -33.9300, 18.4500, 1.2, 2.0, 1.0),
            Centre("Claremont", -33.9810, 18.4650, 1.6, 2.4, 1.2),
            Centre("Wynberg", -34.0050, 18.4680, 1.0, 2.4, 0.8),
            Centre("Athlone", -33.9650, 18.5100, 1.3, 2.6, 0.6),
            Centre("Gugulethu", -33.9800, 18.5700, 1.4, 2.6, 0.4),
            Centre("Mitchells Plain", -34.0480, 18.6170, 1.7, 3.0, 0.6),
            Centre("Khayelitsha", -34.0370, 18.6770, 1.8, 3.0, 0.4),
            Centre("Century City", -33.8930, 18.5110, 1.3, 2.2, 1.6),
            Centre("Parow", -33.9000, 18.5850, 1.1, 2.4, 1.0),
            Centre("Bellville", -33.9000, 18.6290, 1.4, 2.6, 1.3),
            Centre("Delft", -33.9700, 18.6400, 1.0, 2.4, 0.4),
            Centre("Kuils River", -33.9270, 18.6780, 0.7, 2.6, 0.6),
            Centre("Durbanville", -33.8320, 18.6480, 0.8, 2.8, 0.9),
            Centre("Kraaifontein", -33.8480, 18.7150, 0.8, 2.6, 0.6),
            Centre("Table View", -33.8250, 18.4920, 0.9, 2.6, 0.8),
            Centre("Muizenberg", -34.1050, 18.4700, 0.5, 2.2, 0.7),
            Centre("Fish Hoek", -34.1360, 18.4290, 0.4, 2.0, 0.7),
            Centre("Atlantic Hills", -33.7700, 18.5300, 0.3, 2.4, 1.0),
        ),
        (
            Quiet("Table Mountain", -33.9680, 18.4150, 2.8),
            Quiet("Constantiaberg", -34.0500, 18.3850, 3.0),
            Quiet("Silvermine", -34.0950, 18.4150, 2.4),
            Quiet("Airport", -33.9700, 18.5970, 1.1),
            Quiet("Tygerberg Hills", -33.8600, 18.6000, 1.8),
            Quiet("Rietvlei", -33.8400, 18.4950, 0.8),
            Quiet("Philippi farms", -34.0300, 18.5450, 2.2),
            Quiet("Blaauwberg", -33.7500, 18.4850, 2.8),
        ),
        log_sd=1.12,
    ),
}
