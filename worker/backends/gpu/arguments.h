// The arguments of each kernel, in the C that C++, OpenCL C and CUDA share: the host's side includes this file, and the
// build puts it before the text of the kernels. Every structure is passed by value. Its layout is the same on all
// three, since 8-byte members precede 4-byte ones. A file that includes this one must define u8, u32, u64 and i64
// before.
//
// Rows, columns and counts are those of one replica; the launch selects the replica.
#ifndef HPO_GPU_ARGUMENTS_H
#define HPO_GPU_ARGUMENTS_H

// A reference to a tensor in the arena: bytes from its start, and from one replica to the next.
typedef struct {
    u64 offset;  // ABSENT: no tensor
    u64 stride;
} TensorRef;

typedef struct {
    TensorRef to;
    i64 count;
    float value;
} FillArguments;

typedef struct {
    TensorRef to;
    TensorRef seed;
    i64 count;
    u32 site;
    float unit;  // bound / 2^23
} InitialiseArguments;

// The valid rows of a micro-batch (hpo::Extent).
typedef struct {
    TensorRef batch;  // ABSENT: all rows are valid
    TensorRef rows;
    u32 micro_batch;
    u32 rows_per_sample;
} ExtentArguments;

typedef struct {
    TensorRef features;  // position of the samples in their buffer, and the stride between their parts
    TensorRef sample_targets;
    TensorRef sample_rows;  // ABSENT: all rows belong to the samples
    TensorRef part;         // hpo::Gather::Fold; ABSENT: all replicas share one part
    TensorRef part_count;
    TensorRef part_scale;
    TensorRef part_shift;
    TensorRef output;
    TensorRef targets;
    TensorRef seed;
    TensorRef iteration;
    ExtentArguments extent;  // ABSENT: in order, from `first` on
    u32 count;               // of the samples
    u32 first;
    u32 staged;  // samples lie in the order in which they are taken
    u32 rows;
    u32 columns;
    u32 target_columns;  // of four bytes each
    u32 height;          // 0: not augmented
    u32 width;
    u32 most_shift;
    u32 flip;
    float scale;
    float shift;
    u32 rounds;  // the output, as in RoundArguments; 0: it is f32
    u32 unused;
} GatherArguments;

typedef struct {
    TensorRef probability;  // ABSENT: no dropout
    TensorRef seed;
    TensorRef iteration;
    TensorRef mask;
    ExtentArguments extent;
    u64 site;
} DropoutArguments;

typedef struct {
    TensorRef pre;
    TensorRef bias;
    TensorRef output;
    TensorRef activations;  // ABSENT: `activation` for all
    TensorRef skipped;      // ABSENT: nothing is added
    DropoutArguments dropout;
    u32 rows;
    u32 columns;
    u32 activation;  // hpo::Activation
    u32 rounds;      // the output, as in RoundArguments; 0: it is f32
} ActivateArguments;

typedef struct {
    TensorRef gradient;
    TensorRef pre;
    TensorRef output;
    TensorRef bias_gradient;
    TensorRef activations;
    TensorRef incoming;  // the gradient of the output: `gradient` or another
    DropoutArguments dropout;
    u32 rows;
    u32 columns;
    u32 activation;
    u32 add;     // to the bias gradient
    u32 rounds;  // the gradient, as in RoundArguments; 0: it is f32
    u32 parts;   // of the rows, see ColumnTotalsArguments
} ActivateBackwardArguments;

// Sums over the rows are computed in parts of the rows, side by side, which another kernel puts together.
typedef struct {
    TensorRef first;   // ABSENT: not wanted
    TensorRef second;  // ABSENT: there is but one sum of each column
    u32 columns;
    u32 parts;
    u32 add;
    u32 unused;
} ColumnTotalsArguments;

typedef struct {
    TensorRef input;
    TensorRef bias;
    TensorRef scale;
    TensorRef shift;
    TensorRef output;
    TensorRef mean;
    TensorRef rstd;
    TensorRef valid_columns;  // ABSENT: all columns
    u32 rows;
    u32 columns;
    u32 centred;  // 0: the mean is taken to be 0
    float epsilon;
} LayerNormArguments;

typedef struct {
    TensorRef gradient;
    TensorRef input;
    TensorRef mean;
    TensorRef rstd;
    TensorRef scale;
    TensorRef scale_gradient;
    TensorRef shift_gradient;    // ABSENT: not wanted
    TensorRef skipped_gradient;  // ABSENT: the result is written to `gradient`
    TensorRef valid_columns;
    u32 rows;
    u32 columns;
    u32 centred;
    u32 add;
    u32 parts;  // of the rows, see ColumnTotalsArguments
    u32 unused;
} LayerNormBackwardArguments;

typedef struct {
    TensorRef from;
    TensorRef to;
    i64 count;
} AddArguments;

typedef struct {
    TensorRef from;  // ABSENT: its term is left out
    TensorRef to;
    TensorRef norm;  // ABSENT: nothing is divided
    i64 count;
    float from_factor;
    float to_factor;
} CombineArguments;

// The geometry of hpo::Patches.
typedef struct {
    u32 height;
    u32 width;
    u32 channels;
    u32 kernel_size;
    u32 stride;
    u32 out_height;
    u32 out_width;
    u32 unused;
} PatchArguments;

typedef struct {
    TensorRef input;
    TensorRef output;
    PatchArguments patches;
    i64 count;  // elements of the output
} UnfoldArguments;

typedef struct {
    TensorRef input;
    TensorRef scale;
    TensorRef shift;
    TensorRef output;
    TensorRef mean;
    TensorRef rstd;
    u32 pixels;
    u32 channels;
    u32 groups;
    float epsilon;
} GroupNormArguments;

typedef struct {
    TensorRef gradient;
    TensorRef input;
    TensorRef mean;
    TensorRef rstd;
    TensorRef scale;
    TensorRef scale_gradient;
    TensorRef shift_gradient;
    TensorRef sums;  // of each sample: the channels' sums of g, then those of g * normalised
    u32 samples;
    u32 pixels;
    u32 channels;
    u32 groups;
    u32 add;
} GroupNormBackwardArguments;

typedef struct {
    TensorRef input;
    TensorRef scale;
    TensorRef shift;
    TensorRef output;
    TensorRef mean;  // of each ghost batch
    TensorRef rstd;
    TensorRef running_mean;
    TensorRef running_variance;
    TensorRef iteration;
    TensorRef parts;  // two rows for each part
    u32 rows;
    u32 columns;
    u32 ghost;      // rows of a ghost batch; 0: evaluation
    u32 part_rows;  // rows of a part, at most
    u32 batch;      // rows of the whole batch
    u32 add;        // to the running statistics: not the first micro-batch
    float momentum;
    float epsilon;
} BatchNormArguments;

typedef struct {
    TensorRef gradient;
    TensorRef input;
    TensorRef mean;
    TensorRef rstd;
    TensorRef scale;
    TensorRef scale_gradient;
    TensorRef shift_gradient;
    TensorRef parts;
    u32 rows;
    u32 columns;
    u32 ghost;
    u32 part_rows;
    u32 add;
    u32 unused;
} BatchNormBackwardArguments;

typedef struct {
    TensorRef input;   // or its gradient
    TensorRef output;  // or its gradient
    u32 samples;
    u32 pixels;
    u32 channels;
} MeanPixelsArguments;

typedef struct {
    TensorRef input;
    TensorRef output;          // or its gradient
    TensorRef input_gradient;  // backward
    i64 count;                 // elements that are written
    u32 height;                // of the input
    u32 width;
    u32 channels;
    u32 unused;
} MaxPixelsArguments;

typedef struct {
    TensorRef tokens;
    TensorRef table;   // or its gradient
    TensorRef output;  // or its gradient
    u32 rows;
    u32 columns;
    u32 add;  // to the table's gradient
} EmbedArguments;

typedef struct {
    TensorRef input;
    TensorRef columns;
    TensorRef weights;  // or their gradient
    TensorRef output;   // or its gradient
    u32 rows;
    u32 inputs;
    u32 outputs;
    u32 most_levels;  // backward
    u32 add;          // to the tables' gradients
    u32 unused;
} EmbedColumnsArguments;

typedef struct {
    TensorRef values;
    i64 count;  // pairs of numbers that are turned
    u32 steps;
    u32 heads;
    u32 width;
    u32 columns;
    u32 back;
} RotateArguments;

typedef struct {
    TensorRef projections;
    TensorRef output;
    TensorRef log_sums;
    TensorRef gradient;  // the rest: backward alone
    TensorRef deltas;
    TensorRef of_projections;
    u32 samples;
    u32 steps;
    u32 heads;
    u32 kv_heads;
    u32 width;
    u32 causal;
    float scale;
} AttentionArguments;

typedef struct {
    TensorRef input;
    TensorRef output;
    TensorRef input_gradient;  // backward: `output` is the gradient of the output
    i64 count;                 // elements of the output
    u32 columns;               // of the output
} GateArguments;

typedef struct {
    TensorRef input;
    TensorRef output;
    i64 count;  // elements
    u32 inner;
    u32 outer;
    u32 columns;
    u32 unused;
} SwapRowsArguments;

typedef struct {
    TensorRef gates;
    TensorRef recurrent;
    TensorRef input_bias;
    TensorRef recurrent_bias;
    TensorRef before;
    TensorRef candidate;
    TensorRef output;
    i64 count;  // elements of the output
    u32 width;
    u32 unused;
} GruStepArguments;

typedef struct {
    TensorRef gradient;
    TensorRef gates;
    TensorRef candidate;
    TensorRef before;
    TensorRef recurrent_gradient;
    TensorRef before_gradient;  // ABSENT: not wanted
    i64 count;
    u32 width;
    u32 unused;
} GruStepBackwardArguments;

typedef struct {
    TensorRef gates;
    TensorRef recurrent;
    TensorRef bias;
    TensorRef cell_before;
    TensorRef cell;
    TensorRef output;
    i64 count;
    u32 width;
    u32 unused;
} LstmStepArguments;

typedef struct {
    TensorRef gradient;
    TensorRef cell_gradient;
    TensorRef gates;
    TensorRef cell_before;
    TensorRef cell;
    i64 count;
    u32 width;
    u32 unused;
} LstmStepBackwardArguments;

typedef struct {
    TensorRef logits;
    TensorRef labels;
    TensorRef smoothing;
    TensorRef loss;
    TensorRef correct;
    TensorRef gradient;       // ABSENT: not wanted
    TensorRef scale;          // ABSENT: 1
    TensorRef weights;        // ABSENT: `weight` for all
    TensorRef class_weights;  // ABSENT: 1 for all
    ExtentArguments extent;
    u32 rows;
    u32 columns;
    u32 parts;  // groups a replica
    u32 add;    // to loss and correct
    float weight;
} CrossEntropyArguments;

typedef struct {
    TensorRef predictions;
    TensorRef targets;
    TensorRef loss;
    TensorRef absolute;
    TensorRef gradient;  // ABSENT: not wanted
    TensorRef scale;     // ABSENT: 1
    TensorRef weights;   // ABSENT: `weight` for all
    ExtentArguments extent;
    u32 rows;
    u32 columns;
    u32 parts;  // groups a replica
    u32 add;    // to loss and absolute
    float weight;
} SquaredErrorArguments;

typedef struct {
    TensorRef gradient;
    TensorRef limit;
    TensorRef norm;
    TensorRef factor;
    TensorRef scale;  // ABSENT: there is no loss scaling, and nothing of good and valid
    TensorRef good;
    TensorRef valid;
    i64 count;
    u32 parts;
    float growth;
} GradientNormArguments;

typedef struct {
    TensorRef weights;
    TensorRef gradient;
    TensorRef learning_rates;
    TensorRef window_index;  // ABSENT: the first of the rates
    TensorRef weight_decay;
    TensorRef factor;  // ABSENT: 1
    TensorRef alive;
    TensorRef valid;    // ABSENT: all are
    TensorRef rounded;  // the decayed weights once more, of 16 bits; ABSENT: not wanted
    i64 count;
    i64 decayed;
    u64 rounds;  // as in RoundArguments
} UpdateArguments;

typedef struct {
    UpdateArguments update;
    TensorRef first_moment;
    TensorRef second_moment;
    TensorRef beta1;
    TensorRef beta2;
    TensorRef epsilon;
    TensorRef iteration;
} AdamWArguments;

typedef struct {
    UpdateArguments update;
    TensorRef velocity;
    TensorRef momentum;
    u64 nesterov;
} SgdArguments;

typedef struct {
    UpdateArguments update;
    TensorRef first_moment;
    TensorRef beta1;
    TensorRef beta2;
} LionArguments;

typedef struct {
    TensorRef weights;
    TensorRef average;
    TensorRef iteration;
    TensorRef alive;
    i64 count;
    float decay;
    u32 unused;
} AverageArguments;

typedef struct {
    TensorRef iteration;
    TensorRef alive;
    TensorRef window_index;  // ABSENT: there are no tables
    TensorRef loss;
    TensorRef norm;
    TensorRef losses;
    TensorRef norms;
} AdvanceArguments;

// C [m, n] = op(A) op(B), added to C where `add`; all dense and row-major.
typedef struct {
    TensorRef a;
    TensorRef b;
    TensorRef c;
    u32 m;
    u32 n;
    u32 k;
    u32 add;
    u32 precision;  // hpo::Precision; bfloat16 and float16: A and B hold 16-bit numbers
} MultiplyArguments;

typedef struct {
    MultiplyArguments product;  // its c is not used
    AdamWArguments adamw;       // of the product's elements
    TensorRef roots;            // a number for each work-group
} MultiplyAndAdamWArguments;

typedef struct {
    TensorRef from;
    TensorRef to;
    i64 count;
    u32 rounds;  // hpo::Precision: bfloat16 or float16
} RoundArguments;

#define ABSENT 0xFFFFFFFFFFFFFFFFUL

#define WORK_GROUP_SIZE 256U   // work-items of every work-group
#define UPDATE_ELEMENTS 1024U  // elements of a work-group in optimizers (four a work-item) and norms
#define MAX_PARTS 256U         // partial results of a reduction, a replica
#define MAX_COLUMN_SUMS 8192U  // partial sums of columns, a replica: of all parts of the rows
#define PART_ROWS 256U         // rows of a part, at least
#define LEAST_SPLIT 1024U      // rows that are divided into parts, at least
// Workspace of a replica: two numbers for each partial result, and two partial sums of columns.
#define WORKSPACE_BYTES (MAX_PARTS * 8U + MAX_COLUMN_SUMS * 8U)
#define SUBGROUP_SIZE 32U  // work-items that share a row
#define SUBGROUPS 8U       // WORK_GROUP_SIZE / SUBGROUP_SIZE
#define TILE 64U           // rows and columns of a product that a group computes
#define TILE_DEPTH 16U
#define STEPS 16U        // of a tile of queries or keys
#define WIDEST_HEAD 128  // numbers of a head, at most

// The list of all kernels, each with its arguments, from which the host generates its enumeration and the names.
#define HPO_GPU_KERNELS(K)                                        \
    K(fill, FillArguments)                                        \
    K(initialise, InitialiseArguments)                            \
    K(gather_f32, GatherArguments)                                \
    K(gather_u8, GatherArguments)                                 \
    K(activate, ActivateArguments)                                \
    K(activate_backward, ActivateBackwardArguments)               \
    K(column_totals, ColumnTotalsArguments)                       \
    K(layer_norm, LayerNormArguments)                             \
    K(layer_norm_backward_columns, LayerNormBackwardArguments)    \
    K(layer_norm_backward_rows, LayerNormBackwardArguments)       \
    K(add, AddArguments)                                          \
    K(unfold, UnfoldArguments)                                    \
    K(fold, UnfoldArguments)                                      \
    K(group_norm, GroupNormArguments)                             \
    K(group_norm_backward_sums, GroupNormBackwardArguments)       \
    K(group_norm_backward_parameters, GroupNormBackwardArguments) \
    K(group_norm_backward_input, GroupNormBackwardArguments)      \
    K(batch_norm_parts, BatchNormArguments)                       \
    K(batch_norm_statistics, BatchNormArguments)                  \
    K(batch_norm_apply, BatchNormArguments)                       \
    K(batch_norm_backward_parts, BatchNormBackwardArguments)      \
    K(batch_norm_backward_sums, BatchNormBackwardArguments)       \
    K(batch_norm_backward_input, BatchNormBackwardArguments)      \
    K(mean_pixels, MeanPixelsArguments)                           \
    K(mean_pixels_backward, MeanPixelsArguments)                  \
    K(max_pixels, MaxPixelsArguments)                             \
    K(max_pixels_backward, MaxPixelsArguments)                    \
    K(embed, EmbedArguments)                                      \
    K(embed_backward, EmbedArguments)                             \
    K(embed_columns, EmbedColumnsArguments)                       \
    K(embed_columns_backward, EmbedColumnsArguments)              \
    K(rotate_heads, RotateArguments)                              \
    K(attention, AttentionArguments)                              \
    K(attention_deltas, AttentionArguments)                       \
    K(attention_of_keys, AttentionArguments)                      \
    K(attention_of_queries, AttentionArguments)                   \
    K(gate, GateArguments)                                        \
    K(gate_backward, GateArguments)                               \
    K(swap_rows, SwapRowsArguments)                               \
    K(gru_step, GruStepArguments)                                 \
    K(gru_step_backward, GruStepBackwardArguments)                \
    K(lstm_step, LstmStepArguments)                               \
    K(lstm_step_backward, LstmStepBackwardArguments)              \
    K(cross_entropy_rows, CrossEntropyArguments)                  \
    K(cross_entropy_total, CrossEntropyArguments)                 \
    K(binary_cross_entropy_parts, CrossEntropyArguments)          \
    K(squared_error_parts, SquaredErrorArguments)                 \
    K(squared_error_total, SquaredErrorArguments)                 \
    K(norm_parts, GradientNormArguments)                          \
    K(norm_total, GradientNormArguments)                          \
    K(adamw, AdamWArguments)                                      \
    K(sgd, SgdArguments)                                          \
    K(lion, LionArguments)                                        \
    K(combine, CombineArguments)                                  \
    K(average, AverageArguments)                                  \
    K(advance, AdvanceArguments)                                  \
    K(multiply, MultiplyArguments)                                \
    K(multiply_by_transposed, MultiplyArguments)                  \
    K(multiply_transposed, MultiplyArguments)                     \
    K(multiply_rounded, MultiplyArguments)                        \
    K(multiply_by_transposed_rounded, MultiplyArguments)          \
    K(multiply_transposed_rounded, MultiplyArguments)             \
    K(multiply_and_adamw, MultiplyAndAdamWArguments)              \
    K(multiply_and_adamw_rounded, MultiplyAndAdamWArguments)      \
    K(round_operand, RoundArguments)

#endif
