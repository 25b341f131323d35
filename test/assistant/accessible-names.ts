// What assistive technology reads: the browser's own accessibility tree. Everything that can be operated must have a
// name there.
import type { Page } from "playwright-core";

const OPERATED = new Set([
  "button",
  "link",
  "textbox",
  "checkbox",
  "combobox",
  "DisclosureTriangle",
  "menuitem",
  "radio",
  "slider",
  "switch",
  "tab"
]);

/** Role and markup of every control without a name. */
export async function namelessControls(page: Page): Promise<string[]> {
  const devtools = await page.context().newCDPSession(page);
  const { nodes } = await devtools.send("Accessibility.getFullAXTree");
  const controls = nodes.filter(({ ignored, role }) => !ignored && OPERATED.has(String(role?.value)));
  if (controls.length === 0) throw new Error("The page has no controls at all: the tree was not read.");
  const nameless = controls.filter(({ name }) => String(name?.value ?? "").trim() === "");
  await devtools.detach();
  return nameless.map(({ role, description }) => `${String(role?.value)} ${String(description?.value ?? "")}`);
}
