"""Headless Chromium for tests, by ChromeDriver; both are Debian packages."""

import shutil
import time
from collections.abc import Callable

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync --disable-dev-shm-usage"
)
PROGRAMS = ("chromium", "chromedriver")
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]
NOT_RUN = f"{' and '.join(MISSING)} not found"


class Browser:
    """A page, what is on it, and what its console said."""

    def __init__(self, profile: str):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in FLAGS.split():
            options.add_argument(flag)
        options.add_argument(f"--user-data-dir={profile}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.resize(1200, 900)

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def offline(self, off: bool) -> None:
        self.driver.execute_cdp_cmd("Network.enable", {})
        limits = {"offline": off, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", limits)

    def open(self, url: str) -> None:
        self.complaints()
        self.driver.get(url)

    def run(self, script: str, *arguments: object):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str):
        return self.driver.find_element("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        """In one call: each element's would take a hundredth of a second."""
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText)", selector)

    def click(self, selector: str) -> None:
        self.run("arguments[0].scrollIntoView({block: 'center'})", self.one(selector))
        self.one(selector).click()

    def wait(self, ready: Callable[[], object], seconds: float = 60):
        """What `ready` gives as soon as it gives something."""
        end = time.monotonic() + seconds
        while not (value := ready()):
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.05)
        return value

    def accessible(self) -> list[tuple[str, str]]:
        """(role, name) of everything that a screen reader is told of, in its order."""
        self.driver.execute_cdp_cmd("Accessibility.enable", {})
        nodes = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        told = [node for node in nodes if not node.get("ignored")]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in told]

    def complaints(self) -> list[str]:
        """What the console said since the last time."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def close(self) -> None:
        self.driver.quit()
