"""Speaker: accepted, and silent."""

from __future__ import annotations

from strapdown.webots.api.device import Device

__all__ = ["Speaker"]


class Speaker(Device):
    """Plays sounds and speaks."""

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
        """Stop a sound, or all."""

    def isSoundPlaying(self, sound: str) -> bool:
        """Return whether a sound is playing: it never is."""
        return False

    def setEngine(self, engine: str) -> bool:
        """Choose how text is spoken."""
        return True

    def setLanguage(self, language: str) -> bool:
        """Choose the language of speech."""
        return True

    def getEngine(self) -> str:
        """Return the engine that speaks: the default one."""
        return "pico"

    def getLanguage(self) -> str:
        """Return the language of speech: the default one."""
        return "en-US"

    def speak(self, text: str, volume: float) -> None:
        """Speak a text."""

    def isSpeaking(self) -> bool:
        """Return whether it is speaking: it never is."""
        return False
