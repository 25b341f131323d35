// Tables of older builds that became rows of cf_work.
import type { ReplacedTable } from "../host/table-set.ts";
import { WORKFLOW_OUTBOX } from "./moved/workflow-outbox.ts";

export const MOVED_TABLES: readonly ReplacedTable[] = [WORKFLOW_OUTBOX];
