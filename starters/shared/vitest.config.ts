import { skillsImport } from "everthink/build";
import { defineConfig } from "vitest/config";

// Of its own, because vite.config.ts is for the Worker: tests run the same classes in Node, with their skills.
export default defineConfig({ plugins: [skillsImport()], test: { include: ["test/**/*.test.ts"] } });
