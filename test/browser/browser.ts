// A headless Chromium: the machine's own when CHROMIUM_PATH names it, otherwise the one an npm package carries. Only
// the sandbox is off (containers have none); the package's own flags also switch off web security, which must hold here.
import bundledChromium from "@sparticuz/chromium";
import { type Browser, chromium } from "playwright-core";

export async function launchBrowser(): Promise<Browser> {
  const executablePath = process.env["CHROMIUM_PATH"] ?? (await bundledChromium.executablePath());
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--no-zygote", "--disable-gpu", "--disable-quic"] });
}
