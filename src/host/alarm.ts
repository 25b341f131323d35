// The Alarm port. Setting is fire-and-forget: the platform commits it together with the writes around it.
import type { Alarm } from "./ports.ts";

export function openAlarm(storage: DurableObjectStorage): Alarm {
  const settled = (change: Promise<void>) =>
    change.catch((error: unknown) => console.error("The alarm could not be changed:", error));
  return {
    read: () => storage.getAlarm(),
    set(atMs) {
      void settled(atMs === null ? storage.deleteAlarm() : storage.setAlarm(atMs));
    }
  };
}
