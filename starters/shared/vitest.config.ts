import { defineConfig } from "vitest/config";

// Of its own, because vite.config.ts is for the Worker: tests run the same classes in Node.
export default defineConfig({ test: { include: ["test/**/*.test.ts"] } });
