// On a phone: nothing is cut off, covered or too small for a thumb.
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { Scenario } from "../scenario.ts";
import { eventually, textIn, type Visitor } from "../visitor.ts";
import { crowded } from "../rhythm.ts";
import { STORY, wholeStory } from "./whole-story.ts";

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

export const fitsAPhone: Scenario = {
  name: "on a phone the conversations are a drawer, nothing scrolls sideways, and the composer is usable",
  device: PHONE,
  arrivesOnly: true,
  async play({ visitor }) {
    await visitor.button("Show conversations").tap();
    await isInView(visitor, "New conversation");
    await visitor.photograph("phone-drawer");
    await visitor.button("Hide conversations").tap();
    await visitor.button("Show conversations").tap();
    await visitor.newConversation();
    await fits(visitor);
    await visitor.photograph("phone-empty");
    await visitor.askAndWait("Show me some markdown.");
    await fits(visitor);
    await visitor.askAndWait("Think it through: how many days are left until New Year?");
    await fits(visitor);
    await visitor.photograph("phone");
    expect(await crowded(visitor)).toEqual([]);
    await visitor.button("Show what happens underneath").tap();
    await visitor.panel.waitFor();
    await fits(visitor);
    await visitor.photograph("phone-underneath");
    expect(await smallTargets(visitor.page)).toEqual([]);
    await visitor.page.getByRole("tab", { name: "MCP servers" }).tap();
    await visitor.page.getByRole("textbox", { name: "Address of an MCP server" }).waitFor();
    await fits(visitor);
    expect(await smallTargets(visitor.page)).toEqual([]);
  }
};

export const opensTheSheet: Scenario = {
  name: "on a phone what happens underneath is a sheet with a title, leads the keyboard in and back, and leaves the composer free",
  device: PHONE,
  arrivesOnly: true,
  async play(stage) {
    const { visitor } = stage;
    const { page, panel } = visitor;
    const whole = await wholeStory(stage);
    const show = visitor.button("Show what happens underneath");
    const focused = () => page.evaluate(() => document.activeElement?.ariaLabel ?? document.activeElement?.textContent);
    await visitor.button("Show conversations").tap();
    await visitor.newConversation();
    await visitor.ask(STORY);
    await visitor.reads(80);
    await show.tap();
    await panel.getByRole("heading", { name: "Underneath", level: 2 }).waitFor();
    await eventually(focused).toBe("Underneath");
    // It rises into its place.
    await eventually(() => endOf(panel)).toBe(page.viewportSize()!.height);
    expect(await endOf(visitor.field)).toBeLessThan((await boxOf(panel)).y);

    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await eventually(focused).toBe("Show what happens underneath");
    await show.tap();
    await panel.getByRole("button", { name: "Hide what happens underneath" }).tap();
    await panel.waitFor({ state: "detached" });
    await eventually(focused).toBe("Show what happens underneath");

    // The Escape was the sheet's: it did not stop the answer.
    await eventually(() => textIn(visitor.answer)).toBe(whole.shown);

    // Another conversation with an open sheet does not pull the keyboard into it.
    await show.tap();
    await panel.waitFor();
    await visitor.button("Show conversations").tap();
    await visitor.newConversation();
    await panel.waitFor();
    expect(await focused()).not.toBe("Underneath");
  }
};

async function endOf(what: Locator): Promise<number> {
  const { y, height } = await boxOf(what);
  return y + height;
}

async function boxOf(what: Locator): Promise<{ y: number; height: number }> {
  const box = await what.boundingBox();
  if (box === null) throw new Error("It is not shown.");
  return box;
}

async function isInView(visitor: Visitor, name: string): Promise<void> {
  await eventually(async () => (await visitor.button(name).boundingBox())?.x ?? -1).satisfy((x: number) => x >= 0);
}

async function fits({ page, field }: Visitor): Promise<void> {
  const { width, height } = page.viewportSize()!;
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  expect(
    await page.evaluate(() => {
      const scroller = document.querySelector("[role=log]")!.parentElement!;
      return scroller.scrollWidth - scroller.clientWidth;
    })
  ).toBe(0);
  const box = await field.boundingBox();
  expect(box!.x + box!.width).toBeLessThanOrEqual(width);
  expect(box!.y + box!.height).toBeLessThanOrEqual(height);
}

/** Buttons that a thumb would miss. */
function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("button")].flatMap((button) => {
      const { width, height } = button.getBoundingClientRect();
      const isShown = button.checkVisibility() && width > 0;
      // A sheet that rises has its edges between pixels.
      return isShown && Math.round(Math.min(width, height)) < 40
        ? [`${button.ariaLabel ?? button.textContent} ${width}×${height}`]
        : [];
    })
  );
}

export const phoneScenarios: readonly Scenario[] = [fitsAPhone, opensTheSheet];
