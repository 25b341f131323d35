import { subscribe } from "everthink/observe";

export const stop = subscribe("chat", (event) => {
  if (event.type === "chat:turn:finish")
    console.log(event.agent, event.name, event.payload.status, event.payload.durationMs);
});
