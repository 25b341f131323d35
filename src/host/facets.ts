// The Facets port. A child's class is found by name among the Worker's exports, and what the child must know before
// its first event (its identity) travels as props, so that a cold start needs no call back to the parent.
import { createHash } from "node:crypto";
import { FacetsUnsupportedError, hostErrors } from "./errors.ts";
import type { Facets, FacetStub } from "./ports.ts";

/** The platform takes facet names of 1 to 256 characters; longer keys are hashed. */
const FACET_NAME_LIMIT = 256;

/** Props as the child finds them: `ctx.props.everthink`. */
export interface FacetProps {
  everthink: Record<string, unknown>;
}

export function openFacets(ctx: DurableObjectState): Facets {
  const facets = () => {
    if (!ctx.facets || !ctx.exports) throw new FacetsUnsupportedError();
    return ctx.facets;
  };
  return {
    get(key, className, props) {
      const child = exportedClass(ctx, className);
      const start = () => ({ class: child({ props: { everthink: props() } satisfies FacetProps }) });
      // The stub's methods are those of a class known only by name.
      return facets().get(facetName(key), start) as object as FacetStub;
    },
    abort: (key, reason) => facets().abort(facetName(key), reason),
    delete(key) {
      try {
        facets().delete(facetName(key));
      } catch (error) {
        // Deployed runtimes throw for a child that never existed, which is what "deleted" means.
        if (error instanceof FacetsUnsupportedError) throw error;
      }
    }
  };
}

/** An exported class that can be given props. */
type ExportedClass = (options: { props: FacetProps }) => DurableObjectClass;

function exportedClass(ctx: DurableObjectState, className: string): ExportedClass {
  const exported: unknown = (ctx.exports as Record<string, unknown> | undefined)?.[className];
  if (typeof exported !== "function") throw hostErrors.ClassNotExportedError(className);
  // Worker exports are callable with props; their types are generated per application.
  return exported as ExportedClass;
}

function facetName(key: string): string {
  return key.length <= FACET_NAME_LIMIT ? key : `sha256-${createHash("sha256").update(key).digest("hex")}`;
}
