import { expect, test } from "vitest";
import { encodeAdaptiveCard } from "./adaptive-card.ts";

test("each line of a plain text is an element without Markdown; a text of the class has it", () => {
  const card = encodeAdaptiveCard({
    type: "card",
    title: "Send it?",
    children: [
      { type: "text", content: "**Please** read:" },
      { type: "divider" },
      { type: "text", content: "to: [the boss](https://example.com)\n\nbody: # Hi", style: "plain" }
    ]
  });
  expect(card).toMatchObject({
    body: [
      { type: "TextBlock", text: "Send it?" },
      { type: "TextBlock", text: "**Please** read:" },
      {
        type: "RichTextBlock",
        separator: true,
        inlines: [{ type: "TextRun", text: "to: [the boss](https://example.com)" }]
      },
      { type: "RichTextBlock", spacing: "None", inlines: [{ type: "TextRun", text: "body: # Hi" }] }
    ]
  });
});
