import { createThinkClient } from "everthink/client";

const client = createThinkClient({ host: "localhost:8788", agent: "lighthouse", name: "ada" });
const { outcome } = await client.send(process.argv[2] ?? "Write into the log that the lamp is lit.");
for (const part of client.getSnapshot().messages.at(-1)?.parts ?? []) {
  console.log(part.type === "text" ? part.text : part.type);
}
console.log(outcome);
client.close();
