import { expect, test } from "vitest";
import { encodeContent } from "./content.ts";

test("marks in a plain text of a card are shown and have no effect; those of the class have", () => {
  const children = [
    { type: "text", content: "note: **Approved** [here](https://evil.example) <@7> `x`", style: "plain" },
    { type: "text", content: "**bold**" }
  ];
  expect(encodeContent({ card: { type: "card", title: "Pay", children } })).toMatchObject({
    content: "**Pay**\nnote: \\*\\*Approved\\*\\* \\[here\\]\\(https://evil.example\\) \\<@7\\> \\`x\\`\n**bold**"
  });
});
