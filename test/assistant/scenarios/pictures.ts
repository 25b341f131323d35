// Pictures in a message.
import type { Locator } from "playwright-core";
import { expect } from "vitest";
import { noisePng } from "../portable-network-graphic.ts";
import type { Scenario } from "../scenario.ts";
import { eventually, type Visitor } from "../visitor.ts";

const MEGABYTE = 1_000_000;
/** Longer than what a page sends, and more than a megabyte. */
const LARGE = noisePng(2_400, 300);

interface ChosenFile {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}

export const sendsPictures: Scenario = {
  name: "pictures are attached, made smaller when they are large, sent, and shown after a reload; other files are refused",
  async play({ visitor, server }) {
    expect(LARGE.length).toBeGreaterThan(MEGABYTE);
    await choose(visitor, { name: "words.txt", mimeType: "text/plain", buffer: Buffer.from("words") });
    await visitor.page.getByText("words.txt is not a PNG, JPEG, WebP or GIF picture.").waitFor();
    await choose(visitor, { name: "small.png", mimeType: "image/png", buffer: noisePng(24, 16) });
    await choose(visitor, { name: "large.png", mimeType: "image/png", buffer: LARGE });
    const waiting = visitor.page.getByRole("list", { name: "Attached images" });
    await visitor.counts(waiting.getByRole("img"), 2);
    await visitor.photograph("attached");

    await visitor.askAndWait("What do you see?");
    await visitor.answerHas("I got 2 pictures");
    expect(await waiting.count()).toBe(0);
    await areShown(visitor);
    await visitor.reload();
    await areShown(visitor);

    const [question] = await server.storedMessages(visitor.conversationId);
    const files = question?.parts.filter(({ type }) => type === "file") ?? [];
    expect(files.map(({ mediaType }) => mediaType)).toEqual(["image/png", "image/webp"]);
    for (const { url = "" } of files) expect(bytesIn(url)).toBeLessThan(MEGABYTE);
  }
};

async function choose(visitor: Visitor, file: ChosenFile): Promise<void> {
  const chooser = visitor.page.waitForEvent("filechooser");
  await visitor.button("Attach images").click();
  await (await chooser).setFiles(file);
  await visitor.page.getByRole("img", { name: file.name }).or(visitor.page.getByText(file.name)).first().waitFor();
}

async function areShown(visitor: Visitor): Promise<void> {
  for (const name of ["small.png", "large.png"]) {
    const picture = visitor.questions.getByRole("img", { name });
    await eventually(() => widthOf(picture)).satisfy((width: number) => width > 0);
  }
}

function widthOf(picture: Locator): Promise<number> {
  return picture.evaluate((element) => (element instanceof HTMLImageElement ? element.naturalWidth : 0));
}

function bytesIn(dataUrl: string): number {
  return Buffer.from(dataUrl.split(",")[1] ?? "", "base64").length;
}

export const pictureScenarios: readonly Scenario[] = [sendsPictures];
