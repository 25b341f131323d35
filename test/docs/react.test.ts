// The examples of docs/react.md, rendered as a server would: what they show before a browser has connected.
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ChatRoot, useConversation, type ToolPart } from "everthink/react";
import { Page, Support, WeatherCard } from "./examples/react.tsx";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("location", { origin: "http://localhost" });
});
afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a whole chat, and an arrangement of one's own, have header, conversation and composer", () => {
  const page = renderToString(createElement(Page));
  for (const words of ["Assistant</h1>", 'aria-label="Conversation"', 'aria-label="Message"', "Switch to dark theme"]) {
    expect(page).toContain(words);
  }
  const support = renderToString(createElement(Support, { orders: "Your orders" }));
  for (const words of ["Support</h1>", "Your orders", "Ask about your order"]) expect(support).toContain(words);
});

test("a card of one's own says what a tool does, and what it answered", () => {
  const part: ToolPart = { type: "tool-weather", toolCallId: "c", state: "input-available", input: { city: "Oslo" } };
  function Card({ of }: { of: ToolPart }) {
    const conversation = useConversation({ agent: "assistant", name: "ada" });
    return createElement(ChatRoot, { conversation, children: createElement(WeatherCard, { part: of }) });
  }
  const words = (of: ToolPart) => renderToString(createElement(Card, { of })).replaceAll("<!-- -->", "");
  expect(words(part)).toContain("Oslo running");
  expect(words({ ...part, state: "output-available", output: { degrees: 4 } })).toContain("Oslo 4 °C");
});

test("a part outside of a chat says what is missing", () => {
  const part: ToolPart = { type: "tool-weather", toolCallId: "c", state: "input-available" };
  expect(() => renderToString(createElement(WeatherCard, { part }))).toThrow("outside of <ChatRoot>");
});
