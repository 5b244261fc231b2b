// The common part of all kernels. The kernels are written once, for OpenCL C 1.2 and for CUDA: dialect.h defines their
// differences, and arguments.h the arguments of each kernel. Each kernel gets the arena, a second buffer (a workspace,
// or the samples) and its arguments. Work-groups lie along x, replicas along y.
//
// The result of a replica depends on that replica alone, to the bit: the order of additions in a sum follows from the
// shape of the tensor. All work-items of a work-group must reach each barrier the same number of times, so that a
// work-item with nothing to write skips the writing by a condition, and does not return.

#define FLOATS(ref) ((GLOBAL float*)(arena + (ref).offset + (u64)REPLICA * (ref).stride))
#define UINTS(ref) ((GLOBAL u32*)(arena + (ref).offset + (u64)REPLICA * (ref).stride))
#define INTS(ref) ((GLOBAL int*)(arena + (ref).offset + (u64)REPLICA * (ref).stride))
#define BYTES(ref) (arena + (ref).offset + (u64)REPLICA * (ref).stride)
#define PRESENT(ref) ((ref).offset != ABSENT)

// Partial results of a replica in the workspace: MAX_PARTS floats, then as many integers, then twice the partial sums of
// columns.
#define PART_FLOATS ((GLOBAL float*)(other + (u64)REPLICA * WORKSPACE_BYTES))
#define PART_COUNTS ((GLOBAL int*)(other + (u64)REPLICA * WORKSPACE_BYTES + MAX_PARTS * 4u))
#define FIRST_COLUMN_SUMS ((GLOBAL float*)(other + (u64)REPLICA * WORKSPACE_BYTES + MAX_PARTS * 8u))
#define SECOND_COLUMN_SUMS (FIRST_COLUMN_SUMS + MAX_COLUMN_SUMS)

// ---- The valid part of a replica ----

// The number of rows of the batch before this micro-batch.
FUNCTION u32 first_of(GLOBAL u8* arena, const ExtentArguments extent) {
    return PRESENT(extent.batch) ? extent.micro_batch * UINTS(extent.rows)[0] * extent.rows_per_sample : 0u;
}

// The number of rows of a micro-batch that are not padding.
FUNCTION u32 valid_rows(GLOBAL u8* arena, const ExtentArguments extent, u32 rows) {
    if (!PRESENT(extent.batch)) return rows;
    const u32 first = first_of(arena, extent);
    const u32 batch = UINTS(extent.batch)[0] * extent.rows_per_sample;
    const u32 left = batch > first ? batch - first : 0u;
    const u32 own = UINTS(extent.rows)[0] * extent.rows_per_sample;
    const u32 most = own < rows ? own : rows;
    return left < most ? left : most;
}

FUNCTION u32 number_or(GLOBAL u8* arena, const TensorRef numbers, u32 otherwise) {
    return PRESENT(numbers) ? UINTS(numbers)[0] : otherwise;
}

// ---- Philox4x32-10 (hpo/random.hpp) ----

#define PURPOSE_SHUFFLE 4u
#define PURPOSE_INITIALISE 5u
#define PURPOSE_DROPOUT 6u
#define PURPOSE_AUGMENT 9u

FUNCTION void philox(u32* c, u32 key0, u32 key1) {
    for (int round = 0; round < 10; ++round) {
        const u64 low = (u64)0xD2511F53u * c[0];
        const u64 high = (u64)0xCD9E8D57u * c[2];
        c[0] = (u32)(high >> 32) ^ c[1] ^ key0;
        c[1] = (u32)high;
        c[2] = (u32)(low >> 32) ^ c[3] ^ key1;
        c[3] = (u32)low;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

// ---- Sums over work-items. Every work-item of the work-group must call these ----
//
// Each adds in one order in both dialects: the two halves of the rest are added to each other.

#ifndef HAS_SHUFFLES
// The sum of the numbers of a sub-group. Each work-item computes it for itself: that takes no barriers, and the reads
// are the same for all.
FUNCTION float sum_of_subgroup(LOCAL const float* numbers) {
    float s[SUBGROUP_SIZE / 2];
    for (u32 i = 0; i < SUBGROUP_SIZE / 2; ++i) s[i] = numbers[i] + numbers[i + SUBGROUP_SIZE / 2];
    for (u32 distance = SUBGROUP_SIZE / 4; distance > 0; distance /= 2)
        for (u32 i = 0; i < distance; ++i) s[i] += s[i + distance];
    return s[0];
}
#endif

// The sum over the SUBGROUP_SIZE work-items of a sub-group.
FUNCTION float subgroup_sum(LOCAL float* scratch, float x) {
#ifdef HAS_SHUFFLES
    for (u32 distance = SUBGROUP_SIZE / 2; distance > 0; distance /= 2) x += OF_ITEM_AFTER(x, distance);
    x = OF_FIRST_ITEM(x);
    SUBGROUP_BARRIER;
    return x;
#else
    BARRIER;
    scratch[WORK_ITEM] = x;
    BARRIER;
    return sum_of_subgroup(scratch + WORK_ITEM / SUBGROUP_SIZE * SUBGROUP_SIZE);
#endif
}

// The sum over the SUBGROUPS work-items of a column, which have the same WORK_ITEM % SUBGROUP_SIZE.
FUNCTION float column_sum(LOCAL float* scratch, float x) {
    BARRIER;
    scratch[WORK_ITEM] = x;
    BARRIER;
    LOCAL const float* s = scratch + WORK_ITEM % SUBGROUP_SIZE;
    return ((s[0] + s[128]) + (s[64] + s[192])) + ((s[32] + s[160]) + (s[96] + s[224]));
}

// The sum over the whole work-group.
FUNCTION float group_sum(LOCAL float* scratch, float x) { return subgroup_sum(scratch, column_sum(scratch, x)); }

// ---- Sums of columns in parts of the rows ----

// The part of a work-group that handles SUBGROUP_SIZE columns of a part, the column of this work-item, and the rows
// [begin, end) that it goes through: none where the column does not exist.
typedef struct {
    u32 part, column, begin, end;
} ColumnOfPart;

FUNCTION ColumnOfPart column_of_part(u32 rows, u32 columns, u32 parts) {
    const u32 blocks = (columns + SUBGROUP_SIZE - 1u) / SUBGROUP_SIZE;
    const u32 part_rows = (rows + parts - 1u) / parts;
    ColumnOfPart it;
    it.part = WORK_GROUP / blocks;
    it.column = WORK_GROUP % blocks * SUBGROUP_SIZE + WORK_ITEM % SUBGROUP_SIZE;
    it.begin = it.part * part_rows;
    it.end = it.column >= columns ? 0u : it.begin + part_rows < rows ? it.begin + part_rows : rows;
    return it;
}

// The work-item's sum of its column goes to the gradient, or of one of several parts to the workspace.
FUNCTION void put_column_sum(GLOBAL float* gradient, GLOBAL float* sums, const ColumnOfPart it, u32 columns, u32 parts,
                             u32 add, float sum) {
    if (parts > 1u)
        sums[it.part * columns + it.column] = sum;
    else
        gradient[it.column] = add ? gradient[it.column] + sum : sum;
}

KERNEL column_totals(GLOBAL u8* arena, GLOBAL u8* other, const ColumnTotalsArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const u32 column = WORK_GROUP * SUBGROUP_SIZE + WORK_ITEM % SUBGROUP_SIZE;
    float first = 0.0f;
    float second = 0.0f;
    for (u32 part = WORK_ITEM / SUBGROUP_SIZE; column < a.columns && part < a.parts; part += SUBGROUPS) {
        first += FIRST_COLUMN_SUMS[part * a.columns + column];
        if (PRESENT(a.second)) second += SECOND_COLUMN_SUMS[part * a.columns + column];
    }
    first = column_sum(scratch, first);
    second = column_sum(scratch, second);
    if (WORK_ITEM >= SUBGROUP_SIZE || column >= a.columns) return;
    FLOATS(a.first)[column] = a.add ? FLOATS(a.first)[column] + first : first;
    if (PRESENT(a.second)) FLOATS(a.second)[column] = a.add ? FLOATS(a.second)[column] + second : second;
}
