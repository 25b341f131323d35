// A little of everything that Markdown has.
import type { Topic } from "../topic.ts";

const SAMPLE = `## The light characteristics of three towers

| Tower | Light | Range |
| :--- | :--- | ---: |
| North Head | one flash, 5 s | 19 miles |
| Gull Rock | two flashes, 10 s | 14 miles |
| The Mole | fixed green | 4 miles |

What a keeper wrote about it:

> A light that never changes tells you only that somebody is there.
> A light that *counts* tells you **who**.

How a program would count:

\`\`\`ts
export async function* flashes(count: number, periodMs: number) {
  for (let flash = 1; flash <= count; flash += 1) {
    yield \`flash \${flash}\`;
    await new Promise((resolve) => setTimeout(resolve, periodMs / count));
  }
}
\`\`\`

1. Read the chart.
2. Count the flashes:
   - one is North Head,
   - two is Gull Rock.
3. Look it up if in doubt, for instance in [an encyclopedia](https://en.wikipedia.org/wiki/Light_characteristic).

Inline code looks like \`lamp.light()\`, and ~~what was wrong~~ is struck out.`;

export const markdown: Topic = {
  isAbout: ({ question }) => /\bmarkdown\b|\b(table|code block)\b/i.test(question),
  plan: () => [{ text: SAMPLE }]
};
