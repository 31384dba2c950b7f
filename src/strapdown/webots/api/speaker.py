"""Speaker: inert."""

from __future__ import annotations

from strapdown.webots.api.device import Device

__all__ = ["Speaker"]


class Speaker(Device):
    """Speaker for sounds and speech."""

    _function = "speaker"
    _kinds = ("Speaker",)

    @staticmethod
    def playSound(
        left: Speaker,
        right: Speaker,
        sound: str,
        volume: float,
        pitch: float,
        balance: float,
        loop: bool,
    ) -> None:
        """Play a sound file."""

    def stop(self, sound: str | None = None) -> None:
        """Stop a sound, or all sounds."""

    def isSoundPlaying(self, sound: str) -> bool:
        """Return whether a sound is playing: False."""
        return False

    def setEngine(self, engine: str) -> bool:
        """Set the speech engine."""
        return True

    def setLanguage(self, language: str) -> bool:
        """Set the language of speech."""
        return True

    def getEngine(self) -> str:
        """Return the speech engine: the default one."""
        return "pico"

    def getLanguage(self) -> str:
        """Return the language of speech: the default one."""
        return "en-US"

    def speak(self, text: str, volume: float) -> None:
        """Speak a text."""

    def isSpeaking(self) -> bool:
        """Return whether it is speaking: False."""
        return False
