// The files of a conversation: what the tools leave there, and what a person sees and puts there.
import type { Locator } from "playwright-core";
import { expect } from "vitest";
import { noisePng } from "../portable-network-graphic.ts";
import type { Scenario } from "../scenario.ts";
import { eventually, type Visitor } from "../visitor.ts";

const files = (visitor: Visitor) => visitor.page.getByRole("complementary", { name: "Files" });
const row = (visitor: Visitor, name: string) => files(visitor).getByRole("treeitem", { name, exact: true });
const focused = ({ page }: Visitor) => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

async function endOf(element: Locator): Promise<number> {
  const box = await element.boundingBox();
  return box === null ? 0 : Math.round(box.y + box.height);
}

async function drop(visitor: Visitor, file: { name: string; type: string; bytes: number[] }): Promise<void> {
  const data = await visitor.page.evaluateHandle(({ name, type, bytes }) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(bytes)], name, { type }));
    return transfer;
  }, file);
  const target = files(visitor).locator(".files");
  for (const event of ["dragenter", "dragover", "drop"]) await target.dispatchEvent(event, { dataTransfer: data });
}

export const worksWithFiles: Scenario = {
  name: "the model writes, edits, searches and sorts files; by keyboard a person reads one and its last change, and downloads it",
  async play({ visitor }) {
    const { page } = visitor;
    await visitor.suggest("Work with files");
    await visitor.isSettled();
    for (const name of ["write", "edit", "grep", "bash"]) await visitor.tool(name).getByText("done").waitFor();
    await visitor.answerHas("Sorted, it has 5 lines");
    await visitor.tool("edit").locator("summary").click();
    await visitor.tool("edit").getByText("+- lamp oil, two cans").waitFor();
    await page.getByRole("tab", { name: "Underneath" }).focus();
    await page.keyboard.press("ArrowRight");
    await row(visitor, "packing.md").waitFor();
    await row(visitor, "voyage").focus();
    await page.keyboard.press("ArrowLeft");
    await row(visitor, "packing.md").waitFor({ state: "detached" });
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await eventually(() => focused(visitor)).toBe("packing.md");
    await page.keyboard.press("Enter");
    const content = files(visitor).getByLabel("Content", { exact: true });
    await eventually(() => content.innerText()).toContain("lamp oil, two cans");
    await visitor.photograph("files");
    await visitor.button("Last change").press("Enter");
    const change = files(visitor).getByLabel("Last change", { exact: true });
    await change.getByText("-- lamp oil, one can").waitFor();
    await change.getByText("+- lamp oil, two cans").waitFor();
    await visitor.photograph("files-change");
    const download = page.waitForEvent("download");
    await files(visitor).getByRole("link", { name: "Download" }).click();
    expect((await download).suggestedFilename()).toBe("packing.md");
  }
};

export const takesFiles: Scenario = {
  name: "a file that is dropped is there at once, in another tab and after a reload, and the model can use it",
  device: { colorScheme: "dark" },
  async play({ visitor, anotherTab }) {
    await visitor.page.getByRole("tab", { name: "Files" }).click();
    await files(visitor).getByText("No files yet").waitFor();
    const other = await anotherTab();
    await drop(visitor, { name: "log #1.txt", type: "text/plain", bytes: [...Buffer.from("storm at dawn\n")] });
    await drop(visitor, { name: "sea.png", type: "image/png", bytes: [...noisePng(24, 16)] });
    await row(other, "log #1.txt").waitFor();
    const picture = files(visitor).getByRole("img", { name: "sea.png" });
    await eventually(() => picture.evaluate((image) => Reflect.get(image, "naturalWidth") as number)).toBe(24);
    await visitor.photograph("files-dark");
    await visitor.reload();
    await row(visitor, "log #1.txt").click();
    await files(visitor).getByText("storm at dawn").waitFor();
    await visitor.askAndWait("Run `tr a-z A-Z < '/log #1.txt'`");
    await visitor.answerHas("STORM AT DAWN");
  }
};

export const filesOnAPhone: Scenario = {
  name: "on a phone a file takes the place of the tree, and there is a way back",
  device: PHONE,
  arrivesOnly: true,
  async play({ visitor }) {
    await visitor.button("Show conversations").tap();
    await visitor.newConversation();
    await visitor.askAndWait("Write a packing list into a file.");
    await visitor.button("Show what happens underneath").tap();
    // A tap on a sheet that still rises misses.
    await eventually(() => endOf(visitor.panel)).toBe(PHONE.viewport.height);
    await visitor.page.getByRole("tab", { name: "Files" }).tap();
    await row(visitor, "packing.md").waitFor();
    await visitor.photograph("phone-files");
    await row(visitor, "packing.md").tap();
    await files(visitor).getByText("lamp oil, two cans").waitFor();
    await visitor.photograph("phone-file");
    await visitor.button("Back to the files").tap();
    await row(visitor, "packing.md").waitFor();
  }
};

export const fileScenarios: readonly Scenario[] = [worksWithFiles, takesFiles, filesOnAPhone];
