"""Latitudes and longitudes survive the way from degrees to radians and back."""

import numpy as np

from strapdown.messages import NavSatFix, conversion


def test_fixes_that_become_a_series_become_the_same_fixes_again():
    rng = np.random.default_rng(1)
    places = zip(rng.uniform(-90, 90, 2000), rng.uniform(-180, 180, 2000), strict=True)
    fixes = [NavSatFix(k, latitude=a, longitude=b) for k, (a, b) in enumerate(places)]
    series = conversion.gnss_from_navsat(fixes)
    again = conversion.gnss_from_navsat(conversion.navsat_from_gnss(series))
    np.testing.assert_array_equal(again.latitude, series.latitude)
    np.testing.assert_array_equal(again.longitude, series.longitude)
