import { expect, test } from "vitest";
import { z } from "zod";
import { installedSdk, openSdk } from "./sdk.ts";
import { majors } from "./sdk-majors.test-support.ts";

test("the installed SDK is the ai package's major, opened once", () => {
  expect(installedSdk().major).toBe(7);
  expect(installedSdk()).toBe(installedSdk());
  expect(majors.map(({ sdk }) => sdk.major)).toEqual([7, 6]);
});

test("a package that is not the AI SDK is refused by name of what is missing", () => {
  // What a much older or newer release might look like.
  const stranger = { streamText: () => ({}) } as never;
  expect(() => openSdk(stranger)).toThrow(
    expect.objectContaining({ code: "unsupported-sdk", hint: expect.stringContaining("convertToModelMessages") })
  );
});

test.each(majors)("inputs are validated by the schemas of $name", async ({ sdk, module }) => {
  const schema = z.object({ n: z.number().default(3) });
  expect(await sdk.validateInput(schema, {})).toEqual({ ok: true, value: { n: 3 } });
  expect(await sdk.validateInput(schema, { n: "x" })).toMatchObject({ ok: false });
  expect(await sdk.validateInput(module.jsonSchema({ type: "object" }), { any: 1 })).toEqual({
    ok: true,
    value: { any: 1 }
  });
});
