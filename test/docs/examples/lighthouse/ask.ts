import { createThinkClient } from "everthink/client";
import type { Keeper } from "./keeper.ts";

const client = createThinkClient<Keeper>({ host: "localhost:8788", agent: "keeper", name: "ada" });
const { outcome } = await client.send(process.argv[2] ?? "Sound the horn for 9 seconds.");
const { status, pendingApprovals } = client.getSnapshot();
console.log(outcome, status);
for (const asked of pendingApprovals) {
  // A crash was in the middle of it: a person finds out first whether it ran.
  if (asked.mayHaveRun) continue;
  console.log("approved:", asked.toolName, asked.input);
  await client.approve(asked);
}
// The conversation goes on by itself. Here: until its answer ends with a text.
const answer = await new Promise<string>((resolve) => {
  const look = () => {
    const { status, messages } = client.getSnapshot();
    const last = messages.at(-1)?.parts.at(-1);
    if (status === "settled" && last?.type === "text") resolve(last.text);
  };
  client.subscribe(look);
  look();
});
console.log(answer);
client.close();
