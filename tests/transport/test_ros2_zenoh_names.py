"""Keys and tokens of rmw_zenoh; the golden ones are those of its design document."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.errors import FormatError
from strapdown.transport.links.ros2.zenoh_names import Qos, Token, data_key, tokens_of_topic

STRING = "std_msgs::msg::dds_::String_"
HASH = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
NODE = "@ros2_lv/0/aac3178e146ba6f1fc6e6a4085e77f21/0/0/NN/%/%/listener"
LISTENER = (
    "@ros2_lv/0/aac3178e146ba6f1fc6e6a4085e77f21/0/10/MS/%/%/listener/%chatter/"
    f"{STRING}/{HASH}/::,10:,:,:,,"
)
TALKER = (
    "@ros2_lv/0/8b20917502ee955ac4476e0266340d5c/0/10/MP/%/%/talker/%chatter/"
    f"{STRING}/{HASH}/::,7:,:,:,,"
)


@pytest.fixture(scope="module")
def need_zenoh(need_peer):
    need_peer("zenoh", find_spec("zenoh"), "pip install 'strapdown[network]'")
    return import_module("zenoh")


def test_published_tokens_read_and_write_the_same():
    for text in (NODE, LISTENER, TALKER):
        assert str(Token.parse(text)) == text
    talker = Token.parse(TALKER)
    assert (talker.kind, talker.node, talker.topic) == ("MP", "talker", "chatter")
    assert (talker.dds_type, talker.type_hash, talker.qos) == (STRING, HASH, Qos(depth=7))


def test_namespaces_within_a_topic_are_kept():
    text = TALKER.replace("%chatter", "%robot%imu%data")
    assert Token.parse(text).topic == "robot/imu/data"
    assert str(Token.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "qos"),
    [
        ("::,10:,:,:,,", Qos()),
        ("1:2:1,10:,:,:,,", Qos()),
        ("2::,5:,:,:,,", Qos(best_effort=True, depth=5)),
        (":1:,1:,:,:,,", Qos(transient_local=True, depth=1)),
        ("2:1:2,42:1,5:2,0:3,4,5", Qos(True, True, True, 42)),
    ],
)
def test_quality_of_service_is_read_explicit_or_not(text, qos):
    assert Qos.parse(text) == qos


@given(st.booleans(), st.booleans(), st.booleans(), st.integers(0, 10**6))
def test_quality_of_service_comes_back(best_effort, transient_local, keep_all, depth):
    qos = Qos(best_effort, transient_local, keep_all, depth)
    assert Qos.parse(str(qos)) == qos
    assert str(qos).count(":") == 5


@pytest.mark.parametrize("text", ["", ":", "::", "::x,1:,:,:,,", "a::,1", "::,1,2:,:,:,,"])
def test_what_is_no_quality_of_service_is_refused(text):
    with pytest.raises(FormatError, match="quality of service"):
        Qos.parse(text)


@given(st.text(max_size=60) | st.sampled_from([NODE, TALKER]).map(lambda text: text[:-30]))
def test_any_text_is_a_token_or_a_format_error(text):
    for key in (text, f"@ros2_lv/{text}", TALKER.replace("::,7", text)):
        try:
            Token.parse(key)
        except FormatError:
            continue


def test_data_goes_where_rmw_zenoh_puts_it():
    assert data_key(0, "chatter", STRING, HASH) == f"0/chatter/{STRING}/{HASH}"


def test_all_endpoints_of_a_topic_have_a_key_in_common(need_zenoh):
    pattern = need_zenoh.KeyExpr(tokens_of_topic(0, "chatter"))
    assert pattern.intersects(need_zenoh.KeyExpr(LISTENER))
    assert pattern.intersects(need_zenoh.KeyExpr(TALKER))
    assert not pattern.intersects(need_zenoh.KeyExpr(TALKER.replace("%chatter", "%chatter%x")))
    assert not pattern.intersects(need_zenoh.KeyExpr(NODE))
